extends Node
# A server and its clients move a box each; the server hands the boxes round every second.
# godot3-server --path DIR --role=server|client --seconds=N [--port=N]

var seconds = 5.0
var port = 7777
var time = 0.0
var boxes = {}

func _ready():
	var role = "server"
	for argument in OS.get_cmdline_args():
		if argument.begins_with("--role="):
			role = argument.substr(7)
		if argument.begins_with("--seconds="):
			seconds = float(argument.substr(10))
		if argument.begins_with("--port="):
			port = int(argument.substr(7))
	var peer = NetworkedMultiplayerENet.new()
	if role == "server":
		if peer.create_server(port, 8) != OK:
			get_tree().quit(2)
	elif peer.create_client("127.0.0.1", port) != OK:
		get_tree().quit(3)
	get_tree().network_peer = peer
	print("plays as ", role)

func know(number, where):
	if not boxes.has(number):
		boxes[number] = where
		print("knows ", boxes.size(), " boxes")
	boxes[number] = where

remote func box(number, x, y):
	know(number, Vector2(x, y))

remotesync func owner_is(number, id):
	know(number, Vector2(id, 0))

func _physics_process(delta):
	time += delta
	var connected = get_tree().network_peer.get_connection_status() == 2
	if connected:
		var id = get_tree().get_network_unique_id()
		rpc_unreliable("box", id, randf(), time)
		if get_tree().is_network_server() and fmod(time, 1.0) < delta:
			for other in get_tree().get_network_connected_peers():
				rpc("owner_is", other, other)
	if time > seconds:
		get_tree().quit()
