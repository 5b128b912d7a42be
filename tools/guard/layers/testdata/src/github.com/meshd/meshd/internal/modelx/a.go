package modelx

import (
	_ "time"
)
