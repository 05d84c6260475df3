package store_test

import (
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/internal/store/storetest"
)

const prefix = "prod/backups"

func TestS3KeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		// The pace of writes to one key is held to in a test of its own.
		server := r2test.New(t, r2test.Options{WriteEvery: 50 * time.Millisecond})
		s, err := store.NewS3(store.S3Options{
			Endpoint: server.URL, Bucket: r2test.Bucket, Prefix: prefix, PartSize: 5 << 20, RootCAs: server.RootCAs,
			Keys: func() (store.Keys, error) {
				return store.Keys{Access: r2test.AccessKey, Secret: r2test.SecretKey}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return storetest.Subject{
			Store:     s,
			Leftovers: func(testing.TB) int { return server.Uploads("") },
			Cut:       func(t testing.TB, key string, size int64) { server.Cut(t, prefix+"/"+key, size) },
		}
	})
}
