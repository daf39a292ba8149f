// SPDX-License-Identifier: MIT OR Apache-2.0
#include "NetreelSocketSubsystem.h"

#include "Misc/ScopeLock.h"
#include "NetreelSocket.h"

FSocket* FNetreelSocketSubsystem::Wrap(FSocket* Inner, const FName& Protocol)
{
	if (!Inner || Inner->GetSocketType() != ESocketType::SOCKTYPE_Datagram)
	{
		return Inner;
	}
	FSocket* Socket = new FNetreelSocket(Inner, Platform, Protocol);
	FScopeLock Locked(&Lock);
	Made.Add(Socket);
	return Socket;
}

FSocket* FNetreelSocketSubsystem::CreateSocket(const FName& SocketType, const FString& SocketDescription, const FName& ProtocolName)
{
	return Wrap(Platform.CreateSocket(SocketType, SocketDescription, ProtocolName), ProtocolName);
}

FSocket* FNetreelSocketSubsystem::CreateSocket(const FName& SocketType, const FString& SocketDescription, bool bForceUDP)
{
	FSocket* Inner = Platform.CreateSocket(SocketType, SocketDescription, bForceUDP);
	return Wrap(Inner, Inner ? Inner->GetProtocol() : FName(NAME_None));
}

void FNetreelSocketSubsystem::DestroySocket(FSocket* Socket)
{
	bool bMine = false;
	{
		FScopeLock Locked(&Lock);
		bMine = Made.Remove(Socket) > 0;
	}
	if (bMine)
	{
		delete Socket; // destroys the platform's, too
	}
	else
	{
		Platform.DestroySocket(Socket);
	}
}
