package authn

import (
	_ "time"
)
