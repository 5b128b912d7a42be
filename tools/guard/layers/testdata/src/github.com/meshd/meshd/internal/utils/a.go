package utils // want `package path internal/utils: "utils" says nothing`
