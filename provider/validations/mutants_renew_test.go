package validations

func brokenRenew() []brokenRule { return nil }
