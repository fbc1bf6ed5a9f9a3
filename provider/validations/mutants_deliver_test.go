package validations

func brokenDeliver() []brokenRule { return nil }
