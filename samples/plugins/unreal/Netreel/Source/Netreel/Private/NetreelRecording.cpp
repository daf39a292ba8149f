// SPDX-License-Identifier: MIT OR Apache-2.0
#include "NetreelRecording.h"

#include "HAL/PlatformProcess.h"
#include "IPAddress.h"
#include "Interfaces/IPluginManager.h"
#include "Misc/App.h"
#include "Misc/Paths.h"
#include "Misc/ScopeLock.h"

DEFINE_LOG_CATEGORY(LogNetreel);

namespace
{
thread_local FNetreelThread Mine;

std::string ToUtf8(const FString& Text)
{
	return std::string(TCHAR_TO_UTF8(*Text));
}

FString FromUtf8(const std::string& Text)
{
	return FString(UTF8_TO_TCHAR(Text.c_str()));
}

/** Beside the plugin, as Netreel.Build.cs stages it; else where the system looks. */
void* FindLibrary()
{
#if PLATFORM_WINDOWS
	const TCHAR* Name = TEXT("netreel.dll");
	const TCHAR* Folder = TEXT("ThirdParty/Netreel/bin");
#else
	const TCHAR* Name = TEXT("libnetreel.so");
	const TCHAR* Folder = TEXT("ThirdParty/Netreel/lib");
#endif
	const TSharedPtr<IPlugin> Plugin = IPluginManager::Get().FindPlugin(TEXT("Netreel"));
	if (Plugin.IsValid())
	{
		const FString Path = FPaths::Combine(Plugin->GetBaseDir(), Folder, Name);
		if (void* Handle = FPlatformProcess::GetDllHandle(*Path))
		{
			return Handle;
		}
	}
	return FPlatformProcess::GetDllHandle(Name);
}
} // namespace

FNetreelRecording& FNetreelRecording::Get()
{
	static FNetreelRecording Recording;
	return Recording;
}

bool FNetreelRecording::Load(FString& OutWhy)
{
	if (bLoaded)
	{
		return true;
	}
	// It is never given back: its writing thread may run, and threads hold handles.
	void* Library = FindLibrary();
	void* Function = Library ? FPlatformProcess::GetDllExport(Library, TEXT("netreel_load")) : nullptr;
	if (!Function)
	{
		OutWhy = TEXT("libnetreel is not there: ./dev install-c lays it out in the plugin's ThirdParty/Netreel");
		return false;
	}
	const netreel::code Came = netreel::load(reinterpret_cast<netreel_load_fn>(Function));
	bLoaded = static_cast<bool>(Came);
	OutWhy = bLoaded ? FString() : FString(TEXT("this libnetreel does not serve the plugin's version of its table"));
	return bLoaded;
}

bool FNetreelRecording::Start(const FString& Path, FString& OutWhy)
{
	FScopeLock Locked(&Lock);
	if (Recorder)
	{
		OutWhy = TEXT("a reel is recorded already: netreel.Stop ends it");
		return false;
	}
	if (!Load(OutWhy))
	{
		return false;
	}
	netreel::options Options{ToUtf8(Path)};
	Options.engine = "Unreal";
	Options.build = ToUtf8(FApp::GetBuildVersion());
	Options.args = {ToUtf8(FApp::GetProjectName())};
	// Each worker that sends, or says something, has its own; a buffer is made only for those that do.
	Options.threads_max = 256;
	auto Opened = netreel::recorder::open(Options);
	if (!Opened)
	{
		OutWhy = FromUtf8(Opened.why().text);
		return false;
	}
	Recorder = *std::move(Opened);
	bSaidThread = false;
	Number.store(++Latest, std::memory_order_release);
	return true;
}

bool FNetreelRecording::Stop(FString& OutWhy)
{
	FScopeLock Locked(&Lock);
	Number.store(0, std::memory_order_release);
	if (!Recorder)
	{
		OutWhy = TEXT("nothing is recorded");
		return false;
	}
	auto Closed = Recorder.close();
	OutWhy = Closed ? FString() : FromUtf8(Closed.why().text);
	return static_cast<bool>(Closed);
}

FNetreelThread* FNetreelRecording::Thread()
{
	const uint32 Reel = Current();
	if (Reel == 0)
	{
		return nullptr;
	}
	if (Mine.Reel != Reel)
	{
		FScopeLock Locked(&Lock);
		netreel::thread& Handle = Mine;
		Handle = netreel::thread();
		Mine.Reel = Reel;
		if (Current() == Reel)
		{
			auto Opened = Recorder.open_thread();
			if (Opened)
			{
				Handle = *std::move(Opened);
			}
			else if (!bSaidThread)
			{
				bSaidThread = true;
				UE_LOG(LogNetreel, Error, TEXT("what this thread, and maybe others, does is not recorded: %s"), *FromUtf8(Opened.why().text));
			}
		}
	}
	return Mine ? &Mine : nullptr;
}

netreel_endpoint ToEndpoint(const FInternetAddr& Address)
{
	netreel_endpoint Endpoint{};
	Endpoint.family = 4;
	Endpoint.port = static_cast<uint16>(Address.GetPort());
	if (Address.GetProtocolType() == FNetworkProtocolTypes::IPv4)
	{
		uint32 Ip = 0;
		Address.GetIp(Ip); // in the order of the host
		for (int32 Place = 0; Place < 4; ++Place)
		{
			Endpoint.address[Place] = static_cast<uint8>(Ip >> (24 - 8 * Place));
		}
		return Endpoint;
	}
	const TArray<uint8> Raw = Address.GetRawIp();
	static const uint8 Mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	if (Raw.Num() == 16 && FMemory::Memcmp(Raw.GetData(), Mapped, 12) == 0)
	{
		FMemory::Memcpy(Endpoint.address, Raw.GetData() + 12, 4);
		return Endpoint;
	}
	Endpoint.family = 6;
	if (Raw.Num() == 16)
	{
		FMemory::Memcpy(Endpoint.address, Raw.GetData(), 16);
		return Endpoint;
	}
	Endpoint.address[0] = 0xfd;
	Endpoint.address[1] = 0x6e;
	FMemory::Memcpy(Endpoint.address + 2, Raw.GetData(), FMath::Min(Raw.Num(), 14));
	return Endpoint;
}
