package fx
