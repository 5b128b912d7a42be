package guard

import (
	_ "strings"
)
