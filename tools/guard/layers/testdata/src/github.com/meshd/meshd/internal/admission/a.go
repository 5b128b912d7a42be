package admission

import (
	_ "time"
)
