package strs // want `package path internal/common/strs: "common" says nothing`
