package model

type Identity struct{ account string }

func Prove(account string) Identity { return Identity{account} }
