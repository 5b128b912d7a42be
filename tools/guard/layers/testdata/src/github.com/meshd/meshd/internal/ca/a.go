package ca

import (
	_ "time"
)
