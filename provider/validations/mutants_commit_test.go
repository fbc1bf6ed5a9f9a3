package validations

func brokenCommit() []brokenRule { return nil }
