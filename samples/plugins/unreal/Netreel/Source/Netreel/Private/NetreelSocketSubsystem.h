// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "HAL/CriticalSection.h"
#include "IPAddress.h"
#include "SocketSubsystem.h"
#include "SocketSubsystemModule.h"

class FNetreelSocket;

/** The default socket subsystem that was there, whose datagram sockets are recorded. */
class FNetreelSocketSubsystem : public ISocketSubsystem
{
public:
	explicit FNetreelSocketSubsystem(ISocketSubsystem& InPlatform) : Platform(InPlatform) {}

	ISocketSubsystem& Platform;

	virtual bool Init(FString& Error) override { return true; }
	virtual void Shutdown() override {}
	virtual FSocket* CreateSocket(const FName& SocketType, const FString& SocketDescription, const FName& ProtocolName) override;
	virtual FSocket* CreateSocket(const FName& SocketType, const FString& SocketDescription, bool bForceUDP = false) override;
	virtual void DestroySocket(FSocket* Socket) override;
	/** One packet at a time comes through RecvFrom, which is recorded. */
	virtual bool IsSocketRecvMultiSupported() const override { return false; }

	virtual FResolveInfoCached* CreateResolveInfoCached(TSharedPtr<FInternetAddr> Addr) const override { return Platform.CreateResolveInfoCached(Addr); }
	virtual FAddressInfoResult GetAddressInfo(const TCHAR* HostName, const TCHAR* ServiceName = nullptr, EAddressInfoFlags QueryFlags = EAddressInfoFlags::Default, const FName ProtocolTypeName = NAME_None, ESocketType SocketType = ESocketType::SOCKTYPE_Unknown) override { return Platform.GetAddressInfo(HostName, ServiceName, QueryFlags, ProtocolTypeName, SocketType); }
	virtual void GetAddressInfoAsync(FAsyncGetAddressInfoCallback Callback, const TCHAR* HostName, const TCHAR* ServiceName, EAddressInfoFlags QueryFlags, const FName ProtocolTypeName, ESocketType SocketType) override { Platform.GetAddressInfoAsync(Callback, HostName, ServiceName, QueryFlags, ProtocolTypeName, SocketType); }
	virtual TSharedPtr<FInternetAddr> GetAddressFromString(const FString& InAddress) override { return Platform.GetAddressFromString(InAddress); }
	virtual FResolveInfo* GetHostByName(const ANSICHAR* HostName) override { return Platform.GetHostByName(HostName); }
	virtual bool RequiresChatDataBeSeparate() override { return Platform.RequiresChatDataBeSeparate(); }
	virtual bool RequiresEncryptedPackets() override { return Platform.RequiresEncryptedPackets(); }
	virtual bool GetHostName(FString& HostName) override { return Platform.GetHostName(HostName); }
	virtual TSharedRef<FInternetAddr> CreateInternetAddr() override { return Platform.CreateInternetAddr(); }
	virtual TSharedRef<FInternetAddr> CreateInternetAddr(const FName ProtocolType) override { return Platform.CreateInternetAddr(ProtocolType); }
	virtual TSharedRef<FInternetAddr> GetLocalBindAddr(FOutputDevice& Out) override { return Platform.GetLocalBindAddr(Out); }
	virtual TArray<TSharedRef<FInternetAddr>> GetLocalBindAddresses() override { return Platform.GetLocalBindAddresses(); }
	virtual bool GetLocalAdapterAddresses(TArray<TSharedPtr<FInternetAddr>>& OutAddresses) override { return Platform.GetLocalAdapterAddresses(OutAddresses); }
	virtual TSharedRef<FInternetAddr> GetLocalHostAddr(FOutputDevice& Out, bool& bCanBindAll) override { return Platform.GetLocalHostAddr(Out, bCanBindAll); }
	virtual bool GetMultihomeAddress(TSharedRef<FInternetAddr>& Addr) override { return Platform.GetMultihomeAddress(Addr); }
	virtual bool HasNetworkDevice() override { return Platform.HasNetworkDevice(); }
	virtual const TCHAR* GetSocketAPIName() const override { return Platform.GetSocketAPIName(); }
	virtual ESocketErrors GetLastErrorCode() override { return Platform.GetLastErrorCode(); }
	virtual ESocketErrors TranslateErrorCode(int32 Code) override { return Platform.TranslateErrorCode(Code); }
	virtual bool IsSocketWaitSupported() const override { return Platform.IsSocketWaitSupported(); }
	virtual double TranslatePacketTimestamp(const FPacketTimestamp& Timestamp, ETimestampTranslation Translation) override { return Platform.TranslatePacketTimestamp(Timestamp, Translation); }
	virtual bool IsRecvFromWithPktInfoSupported() const override { return Platform.IsRecvFromWithPktInfoSupported(); }

private:
	FSocket* Wrap(FSocket* Inner, const FName& Protocol);

	/** Sockets that this subsystem made, and did not destroy yet: others come here too. */
	TSet<FSocket*> Made;
	FCriticalSection Lock;
};
