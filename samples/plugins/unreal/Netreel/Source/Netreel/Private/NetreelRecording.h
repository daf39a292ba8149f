// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "CoreMinimal.h"
#include "HAL/CriticalSection.h"

#include <netreel.hpp>

#include <atomic>

class FInternetAddr;

DECLARE_LOG_CATEGORY_EXTERN(LogNetreel, Log, All);

/** What a thread records with, in the reel of this number. */
struct FNetreelThread : netreel::thread
{
	uint32 Reel = 0;
};

/** The reel under way, if there is one, and libnetreel, which is loaded for the first. */
class FNetreelRecording
{
public:
	static FNetreelRecording& Get();

	bool Start(const FString& Path, FString& OutWhy);
	bool Stop(FString& OutWhy);

	/** Which reel of this process is recorded; 0: none. */
	uint32 Current() const { return Number.load(std::memory_order_acquire); }

	/** What the calling thread records with; nullptr: nothing is recorded. */
	FNetreelThread* Thread();

private:
	bool Load(FString& OutWhy);

	FCriticalSection Lock;
	netreel::recorder Recorder;
	std::atomic<uint32> Number{0};
	uint32 Latest = 0;
	bool bLoaded = false;
	bool bSaidThread = false;
};

/** As reels have it: an IPv4 address in one of IPv6 is the IPv4 address; one that is no IP address at all, as
 * those of online services, is one of fd6e::/16 that holds it. */
netreel_endpoint ToEndpoint(const FInternetAddr& Address);
