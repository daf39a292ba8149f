extends Reference
# What a game believes of its objects, for netreel: lines that its recorder reads out of the program's output.
# Call these where the game has changed its own table of objects, on every peer, and nowhere else. Objects and
# owners are numbers: `get_network_master()` is an owner.

static func created(object, owner):
	print("netreel: created %d owner %d" % [object, owner])

static func owner(object, owner):
	print("netreel: owner %d %d" % [object, owner])

static func value(object, property, at):
	print("netreel: value %d %s %s %s" % [object, property, at.x, at.y])

static func destroyed(object):
	print("netreel: destroyed %d" % object)
