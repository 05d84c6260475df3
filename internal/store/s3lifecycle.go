package store

import (
	"context"
	"strings"
)

// Lifecycle is what the rules of a bucket do below a store's prefix.
type Lifecycle struct {
	AbortDays int      // open uploads are dropped after so many days; 0: never
	Expiring  []string // the rules that delete objects
}

// Lifecycle reads the rules of the bucket. It never writes them.
func (s *S3) Lifecycle(ctx context.Context) (Lifecycle, error) {
	var found Lifecycle
	err := s.try(ctx, s.short, func() error {
		rules, err := s.core.GetBucketLifecycle(ctx, s.bucket)
		if err != nil {
			return err
		}
		found = Lifecycle{}
		for _, rule := range rules.Rules {
			prefix := rule.Prefix + rule.RuleFilter.Prefix + rule.RuleFilter.And.Prefix
			if rule.Status != "Enabled" || !strings.HasPrefix(prefix, s.root) && !strings.HasPrefix(s.root, prefix) {
				continue
			}
			days := int(rule.AbortIncompleteMultipartUpload.DaysAfterInitiation)
			if days > 0 && strings.HasPrefix(s.root, prefix) && (found.AbortDays == 0 || days < found.AbortDays) {
				found.AbortDays = days
			}
			if !rule.Expiration.IsDaysNull() || !rule.Expiration.IsDateNull() {
				found.Expiring = append(found.Expiring, rule.ID)
			}
		}
		return nil
	})
	if err != nil && replyOf(err).code != "NoSuchLifecycleConfiguration" {
		return Lifecycle{}, s.fail(ctx, "read the lifecycle rules of", s.bucket, err)
	}
	return found, nil
}
