// SPDX-License-Identifier: MIT OR Apache-2.0
#include "CoreMinimal.h"
#include "HAL/IConsoleManager.h"
#include "Misc/App.h"
#include "Misc/CommandLine.h"
#include "Misc/CoreDelegates.h"
#include "Misc/Parse.h"
#include "Modules/ModuleManager.h"
#include "Netreel.h"
#include "NetreelRecording.h"
#include "NetreelSocketSubsystem.h"

namespace
{
const FName SubsystemName(TEXT("Netreel"));

void StartAt(const FString& Path)
{
	FString Why;
	if (FNetreel::Start(Path, &Why))
	{
		UE_LOG(LogNetreel, Display, TEXT("recording to %s"), *Path);
	}
	else
	{
		UE_LOG(LogNetreel, Error, TEXT("not recorded: %s"), *Why);
	}
}

void StopAndSay()
{
	FString Why;
	if (FNetreel::Stop(&Why))
	{
		UE_LOG(LogNetreel, Display, TEXT("the reel is finished"));
	}
	else
	{
		UE_LOG(LogNetreel, Error, TEXT("%s"), *Why);
	}
}

FAutoConsoleCommand StartCommand(
	TEXT("netreel.Start"),
	TEXT("netreel.Start FILE.reel: records what the engine's UDP sockets send and receive"),
	FConsoleCommandWithArgsDelegate::CreateLambda([](const TArray<FString>& Args) {
		StartAt(Args.Num() > 0 ? Args[0] : FString(TEXT("unreal.reel")));
	}));

FAutoConsoleCommand StopCommand(
	TEXT("netreel.Stop"),
	TEXT("Ends the reel that netreel.Start began"),
	FConsoleCommandDelegate::CreateLambda([] { StopAndSay(); }));
} // namespace

class FNetreelModule : public IModuleInterface
{
public:
	virtual void StartupModule() override
	{
		FSocketSubsystemModule& Sockets = FModuleManager::LoadModuleChecked<FSocketSubsystemModule>("Sockets");
		if (ISocketSubsystem* Platform = Sockets.GetSocketSubsystem())
		{
			Subsystem = MakeUnique<FNetreelSocketSubsystem>(*Platform);
			Sockets.RegisterSocketSubsystem(SubsystemName, Subsystem.Get(), true);
		}
		Frame = FCoreDelegates::OnBeginFrame.AddLambda([] {
			if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
			{
				Thread->tick(GFrameCounter, static_cast<uint64>(FApp::GetCurrentTime() * 1e9));
			}
		});
		FString Path;
		if (FParse::Value(FCommandLine::Get(), TEXT("netreel="), Path))
		{
			StartAt(Path);
		}
	}

	virtual void ShutdownModule() override
	{
		FCoreDelegates::OnBeginFrame.Remove(Frame);
		if (FNetreel::IsRecording())
		{
			StopAndSay();
		}
		if (Subsystem)
		{
			FSocketSubsystemModule& Sockets = FModuleManager::LoadModuleChecked<FSocketSubsystemModule>("Sockets");
			// The engine keeps the name of the default one, whose entry goes: the platform's is it again.
			if (Sockets.GetSocketSubsystem() == Subsystem.Get())
			{
				Sockets.RegisterSocketSubsystem(PLATFORM_SOCKETSUBSYSTEM, &Subsystem->Platform, true);
			}
			Sockets.UnregisterSocketSubsystem(SubsystemName);
			// Sockets that are still open call it: it stays.
			Subsystem.Release();
		}
	}

private:
	TUniquePtr<FNetreelSocketSubsystem> Subsystem;
	FDelegateHandle Frame;
};

IMPLEMENT_MODULE(FNetreelModule, Netreel)

// ---- What the game calls ----

bool FNetreel::Start(const FString& Path, FString* OutWhy)
{
	FString Why;
	const bool bStarted = FNetreelRecording::Get().Start(Path, Why);
	if (OutWhy)
	{
		*OutWhy = Why;
	}
	return bStarted;
}

bool FNetreel::Stop(FString* OutWhy)
{
	FString Why;
	const bool bStopped = FNetreelRecording::Get().Stop(Why);
	if (OutWhy)
	{
		*OutWhy = Why;
	}
	return bStopped;
}

bool FNetreel::IsRecording()
{
	return FNetreelRecording::Get().Current() != 0;
}

void FNetreel::Note(const FString& Text)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->note(TCHAR_TO_UTF8(*Text));
	}
}

void FNetreel::NameConnection(const FInternetAddr& Address, const FString& Name)
{
	if (IsRecording())
	{
		Note(FString::Printf(TEXT("%s is %s"), *Address.ToString(true), *Name));
	}
}

void FNetreel::Input(const void* Call, uint64 Length)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->input(netreel::bytes_at(Call, Length));
	}
}

void FNetreel::Snapshot(const void* State, uint64 Length)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->snapshot(netreel::bytes_at(State, Length));
	}
}

void FNetreel::ObjectCreated(uint64 Object, uint64 Owner)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->believes_created(Object, Owner);
	}
}

void FNetreel::ObjectDestroyed(uint64 Object)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->believes_destroyed(Object);
	}
}

void FNetreel::ObjectOwner(uint64 Object, uint64 Owner)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->believes_owner(Object, Owner);
	}
}

void FNetreel::ObjectValue(uint64 Object, const ANSICHAR* Property, const double* Numbers, int32 Count)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->believes_value(Object, Property, {Numbers, static_cast<std::size_t>(Count)});
	}
}

void FNetreel::ObjectText(uint64 Object, const ANSICHAR* Property, const FString& Text)
{
	if (netreel::thread* Thread = FNetreelRecording::Get().Thread())
	{
		Thread->believes_text(Object, Property, TCHAR_TO_UTF8(*Text));
	}
}
