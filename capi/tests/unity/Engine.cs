// Stand-ins for what samples/plugins/unity uses of Unity and its packages: names and signatures as we
// read them in the documentation of com.unity.transport 2.2
// (https://docs.unity3d.com/Packages/com.unity.transport@2.2/api/Unity.Networking.Transport.INetworkInterface.html
// and what it leads to). Nothing here compares the two. No code of Unity. The UDP interface is a real socket of this machine.
using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace UnityEngine
{
    public class MonoBehaviour { }
    public static class Time { public static double fixedTimeAsDouble; }
    public static class Application { public static string version { get { return "1.2"; } } }
    public static class Debug { public static void LogError(object what) { Console.WriteLine(what); } }
}

namespace Unity.Collections
{
    public struct NativeArray<T> : IDisposable where T : struct
    {
        private readonly T[] all;
        public NativeArray(T[] of) { all = of; }
        public int Length { get { return all.Length; } }
        public T this[int at] { get { return all[at]; } }
        public void Dispose() { }
    }
}

namespace Unity.Jobs
{
    public struct JobHandle { }
    public interface IJob { void Execute(); }
    public static class IJobExtensions
    {
        // Elsewhere a worker thread does it; here it is done at once.
        public static JobHandle Schedule<T>(this T job, JobHandle dep = default(JobHandle)) where T : struct, IJob
        {
            job.Execute();
            return dep;
        }
    }
}

namespace Unity.Networking.Transport
{
    using Unity.Collections;
    using Unity.Jobs;

    public enum NetworkFamily { Invalid = 0, Ipv4 = 2, Ipv6 = 23, Custom = 255 }
    public struct NetworkSettings { }

    public struct NetworkEndpoint
    {
        internal byte[] Raw;
        public NetworkFamily Family { get; set; }
        public ushort Port { get; set; }
        public bool IsValid { get { return Family != NetworkFamily.Invalid; } }
        public NativeArray<byte> GetRawAddressBytes() { return new NativeArray<byte>(Raw); }
        public static NetworkEndpoint LoopbackIpv4 { get { return From(new IPEndPoint(IPAddress.Loopback, 0)); } }
        public NetworkEndpoint WithPort(ushort port)
        {
            NetworkEndpoint other = this;
            other.Port = port;
            return other;
        }
        internal static NetworkEndpoint From(IPEndPoint of)
        {
            return new NetworkEndpoint { Raw = of.Address.GetAddressBytes(), Family = NetworkFamily.Ipv4, Port = (ushort)of.Port };
        }
        internal IPEndPoint ToSystem() { return new IPEndPoint(new IPAddress(Raw), Port); }
    }

    public unsafe sealed class Buffer
    {
        public const int Capacity = 1472, Padding = 8;
        public readonly byte* At = (byte*)Marshal.AllocHGlobal(Capacity);
        public int Offset = Padding, Length;
        public NetworkEndpoint Endpoint;
    }

    public unsafe struct PacketProcessor
    {
        public Buffer of;
        public int Length { get { return of.Length; } }
        public int Offset { get { return of.Offset; } }
        public ref NetworkEndpoint EndpointRef { get { return ref of.Endpoint; } }
        public void* GetUnsafePayloadPtr() { return of.At; }
    }

    public struct PacketsQueue
    {
        public List<Buffer> All;
        public int Count { get { return All.Count; } }
        public PacketProcessor this[int at] { get { return new PacketProcessor { of = All[at] }; } }
        public bool EnqueuePacket(out PacketProcessor packet)
        {
            Buffer made = new Buffer();
            All.Add(made);
            packet = new PacketProcessor { of = made };
            return true;
        }
    }

    public struct ReceiveJobArguments { public PacketsQueue ReceiveQueue; }
    public struct SendJobArguments { public PacketsQueue SendQueue; }

    public interface INetworkInterface : IDisposable
    {
        NetworkEndpoint LocalEndpoint { get; }
        int Initialize(ref NetworkSettings settings, ref int packetPadding);
        JobHandle ScheduleReceive(ref ReceiveJobArguments arguments, JobHandle dep);
        JobHandle ScheduleSend(ref SendJobArguments arguments, JobHandle dep);
        int Bind(NetworkEndpoint endpoint);
        int Listen();
    }

    public unsafe struct UDPNetworkInterface : INetworkInterface
    {
        private Socket socket;
        public NetworkEndpoint LocalEndpoint { get { return NetworkEndpoint.From((IPEndPoint)socket.LocalEndPoint); } }
        public int Initialize(ref NetworkSettings settings, ref int packetPadding) { return 0; }
        public int Listen() { return 0; }
        public int Bind(NetworkEndpoint endpoint)
        {
            socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            socket.Bind(endpoint.ToSystem());
            return 0;
        }
        public void Dispose() { socket.Close(); }
        public JobHandle ScheduleReceive(ref ReceiveJobArguments arguments, JobHandle dep)
        {
            byte[] bytes = new byte[1400];
            while (socket.Available > 0)
            {
                EndPoint from = new IPEndPoint(IPAddress.Any, 0);
                int length = socket.ReceiveFrom(bytes, ref from);
                PacketProcessor packet;
                arguments.ReceiveQueue.EnqueuePacket(out packet);
                packet.of.Length = length;
                packet.EndpointRef = NetworkEndpoint.From((IPEndPoint)from);
                Marshal.Copy(bytes, 0, (IntPtr)(packet.of.At + packet.of.Offset), length);
            }
            return dep;
        }
        public JobHandle ScheduleSend(ref SendJobArguments arguments, JobHandle dep)
        {
            foreach (Buffer one in arguments.SendQueue.All)
            {
                byte[] bytes = new byte[one.Length];
                Marshal.Copy((IntPtr)(one.At + one.Offset), bytes, 0, one.Length);
                if (one.Length > 0)
                    socket.SendTo(bytes, one.Endpoint.ToSystem());
            }
            return dep;
        }
    }
}
