package fileprovider

const victim = "FILEPROVIDER_VICTIM"

func sendUntilKilled(string) int { return 0 }
