package store

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// advice is what can be done about an error that comes from the surroundings; empty
// for any other.
func (s *S3) advice(err error) string {
	switch {
	case isNoKeys(err):
		return "give the store's credentials in the environment or the file that its configuration names"
	case isUntrusted(err):
		return fmt.Sprintf("is %s the store? Its certificate has to be trusted here: SSL_CERT_FILE names one more", s.endpoint.Host)
	case errors.Is(err, errNoBucket):
		return s.noBucket()
	case errors.Is(err, errNotStore):
		return fmt.Sprintf("does %s lead to the store, and no proxy stand before it?", s.endpoint.Host)
	case errors.Is(err, errNotKept):
		return fmt.Sprintf("look whether bucket %s has room left, and what the store says about its health", s.bucket)
	case errors.Is(err, errOutOfOrder):
		return "use a bucket whose listings are in the order of the keys; directory buckets are not"
	}
	return s.adviceOn(replyOf(err))
}

// isBlocking tells whether a reply is about the surroundings.
func isBlocking(reply replyError) bool {
	return (&S3{}).adviceOn(reply) != ""
}

// adviceOn is the advice on a reply.
func (s *S3) adviceOn(reply replyError) string {
	if reply.retained {
		return "wait until the bucket's lock rule lets it go, or change the rule"
	}
	switch reply.code {
	case "InvalidAccessKeyId", "InvalidClientTokenId", "SignatureDoesNotMatch", "Unauthorized", "MissingAuthenticationToken", "InvalidSecurity":
		return "check access key and secret: the store does not know them"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken":
		return "the credentials have expired: get new ones"
	case "RequestTimeTooSkewed", "RequestExpired", "ExpiredRequest":
		return "set this host's clock: the store's differs by minutes"
	case minio.NoSuchBucket, minio.InvalidBucketName:
		return s.noBucket()
	case "PermanentRedirect", "TemporaryRedirect", minio.AuthorizationHeaderMalformed, minio.InvalidRegion, "IllegalLocationConstraintException":
		return fmt.Sprintf("name the endpoint and the region that bucket %s is in", s.bucket)
	case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "InsufficientStorage", "StorageFull":
		return fmt.Sprintf("make room in bucket %s, or raise its quota", s.bucket)
	case minio.AccessDenied:
		return s.noAccess()
	case "AccountProblem", "NotEntitled", "NotSignedUp", minio.AllAccessDisabled:
		return "ask the store's provider about the account"
	}
	switch status := reply.status; {
	case status == http.StatusUnauthorized:
		return "check access key and secret: the store does not know them"
	case status == http.StatusForbidden:
		return s.noAccess()
	case status >= 300 && status < 400:
		return fmt.Sprintf("name the endpoint and the region that bucket %s is in", s.bucket)
	case status == http.StatusInsufficientStorage:
		return fmt.Sprintf("make room in bucket %s, or raise its quota", s.bucket)
	case status == http.StatusNotImplemented, status == http.StatusMethodNotAllowed:
		return "use a store that offers this"
	}
	return ""
}

func (s *S3) noBucket() string {
	return fmt.Sprintf("make bucket %s at its provider, or mend its name in the configuration", s.bucket)
}

func (s *S3) noAccess() string {
	return fmt.Sprintf("let these credentials list, read, write and delete in bucket %s", s.bucket)
}
