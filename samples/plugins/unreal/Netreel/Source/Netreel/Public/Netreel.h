// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "CoreMinimal.h"

class FInternetAddr;

/**
 * Recording what crosses the boundary of the engine's UDP sockets. Where nothing is recorded, all of it
 * does nothing; any thread may call.
 *
 * Without code: -netreel=FILE.reel on the command line, or netreel.Start FILE.reel and netreel.Stop in the
 * console.
 */
class NETREEL_API FNetreel
{
public:
	/** Begins to record; a reel of this name must not be there. False: *OutWhy has a sentence. */
	static bool Start(const FString& Path, FString* OutWhy = nullptr);

	/** Ends the reel. False: none was recorded, or a write failed. */
	static bool Stop(FString* OutWhy = nullptr);

	static bool IsRecording();

	/** A note for people. */
	static void Note(const FString& Text);

	/** Whose address this is, as people say it. */
	static void NameConnection(const FInternetAddr& Address, const FString& Name);

	/** A call of the game into the network layer, in bytes of its choice, before it is made. */
	static void Input(const void* Call, uint64 Length);

	/** The same of the layer's state. */
	static void Snapshot(const void* State, uint64 Length);

	// What the game believes of an object, by the numbers that its wire has for objects and owners: where the
	// game has changed its own table.
	static constexpr uint64 NoOwner = ~uint64(0);
	static void ObjectCreated(uint64 Object, uint64 Owner = NoOwner);
	static void ObjectDestroyed(uint64 Object);
	static void ObjectOwner(uint64 Object, uint64 Owner);
	static void ObjectValue(uint64 Object, const ANSICHAR* Property, const double* Numbers, int32 Count);
	static void ObjectText(uint64 Object, const ANSICHAR* Property, const FString& Text);
};
