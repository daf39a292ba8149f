extends Node
# A server and its clients push crates about. Each crate has a master, which moves it; the server makes the crates,
# hands each to the next peer every half a second, and takes them away at the end.
#   godot3-server --path DIR --role=server|client [--port=N] [--seconds=N] [--clients=N] [--deaf]
# With --deaf the peer does not hear who the master of crate 3 is from its second second on: a bug to find.

const Beliefs = preload("res://beliefs.gd")
const CRATES = 4

var role = "server"
var port = 7777
var seconds = 4.0
var clients = 2
var deaf = false
var time = 0.0
var turn = 0
var begun = -1.0

func _ready():
	for argument in OS.get_cmdline_args():
		var word = argument.trim_prefix("--").split("=")
		match word[0]:
			"role": role = word[1]
			"port": port = int(word[1])
			"seconds": seconds = float(word[1])
			"clients": clients = int(word[1])
			"deaf": deaf = true
	var peer = NetworkedMultiplayerENet.new()
	if role == "server":
		peer.set_bind_ip("127.0.0.1")
		if peer.create_server(port, 8) != OK:
			get_tree().quit(2)
	elif peer.create_client("127.0.0.1", port) != OK:
		get_tree().quit(3)
	get_tree().network_peer = peer
	get_tree().connect("server_disconnected", get_tree(), "quit")

func crate(number):
	return get_node_or_null("crate%d" % number)

remotesync func create(number, owner):
	var made = preload("res://crate.gd").new()
	made.name = "crate%d" % number
	made.number = number
	made.set_network_master(owner)
	add_child(made)
	Beliefs.created(number, owner)

remotesync func give(number, owner):
	if deaf and number == 3 and time > 2.0:
		return
	crate(number).set_network_master(owner)
	Beliefs.owner(number, owner)

remotesync func destroy(number):
	var gone = crate(number)
	remove_child(gone)
	gone.queue_free()
	Beliefs.destroyed(number)

remotesync func finish():
	get_tree().quit()

func _physics_process(delta):
	time += delta
	if role != "server":
		return
	var peers = Array(get_tree().get_network_connected_peers())
	peers.sort()
	if begun < 0.0:
		if peers.size() == clients:
			begun = time
			for number in range(1, CRATES + 1):
				rpc("create", number, 1)
		return
	peers.append(1)
	var passed = time - begun
	if passed > 0.5 * (turn + 1) and passed < seconds - 1.0:
		turn += 1
		for number in range(1, CRATES + 1):
			rpc("give", number, peers[(turn + number) % peers.size()])
	if passed > seconds - 0.5 and crate(1) != null:
		rpc("destroy", 1)
	if passed > seconds + 0.5:
		rpc("finish")
