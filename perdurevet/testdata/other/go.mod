// A module that code of the shop calls: calls into it are not followed.
module example.com/other

go 1.26.0
