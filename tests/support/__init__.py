"""What the tests share: checkouts to break, small upstreams, patches made of edits."""
