extends Node2D
# A crate: who is its master moves it and tells the others.

const Beliefs = preload("res://beliefs.gd")

var number = 0
var steps = 0

func _physics_process(_delta):
	steps += 1
	if is_network_master() and steps % 6 == 0:
		rpc("moved", position + Vector2(number, 1))

# From whoever is the master: Godot drops the word of anybody else.
puppetsync func moved(to):
	position = to
	Beliefs.value(number, "position", position)
