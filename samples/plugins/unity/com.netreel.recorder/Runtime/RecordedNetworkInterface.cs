// SPDX-License-Identifier: MIT OR Apache-2.0
using System.Collections.Generic;
using Unity.Collections;
using Unity.Jobs;
using Unity.Networking.Transport;
using UnityEngine;

namespace Netreel
{
    /// The UDP interface of Unity Transport 2, whose packets go into a reel:
    ///
    ///     var driver = NetworkDriver.Create(new RecordedNetworkInterface(recorder).WrapToUnmanaged());
    ///
    /// Where the recorder has no thread for it, it says so once, and all goes on unrecorded.
    /// Packets are those of the wire: as the driver's layers, its encryption too, have made them.
    public sealed unsafe class RecordedNetworkInterface : INetworkInterface
    {
        /// Jobs hold no references: they find what they record with by its number.
        private static readonly List<RecordedNetworkInterface> All = new List<RecordedNetworkInterface>();

        private UDPNetworkInterface inner;
        private readonly RecordedThread thread;
        private readonly int place;
        private uint socket;
        private bool bound;

        public RecordedNetworkInterface(Recorder recorder)
        {
            try
            {
                thread = recorder.OpenThread();
            }
            catch (NetreelException why)
            {
                Debug.LogError("an interface is not recorded: " + why.Message);
            }
            lock (All)
            {
                place = All.Count;
                All.Add(this);
            }
        }

        public NetworkEndpoint LocalEndpoint { get { return inner.LocalEndpoint; } }

        public int Initialize(ref NetworkSettings settings, ref int packetPadding)
        {
            return inner.Initialize(ref settings, ref packetPadding);
        }

        public int Bind(NetworkEndpoint endpoint)
        {
            int code = inner.Bind(endpoint);
            if (code == 0 && thread != null)
            {
                if (bound)
                    thread.SocketClosed(socket);
                bound = thread.SocketOpened(Of(inner.LocalEndpoint), out socket) >= 0;
            }
            return code;
        }

        public int Listen() { return inner.Listen(); }

        public JobHandle ScheduleReceive(ref ReceiveJobArguments arguments, JobHandle dep)
        {
            dep = inner.ScheduleReceive(ref arguments, dep);
            if (thread == null)
                return dep;
            return new ReceivedJob { Queue = arguments.ReceiveQueue, Place = place }.Schedule(dep);
        }

        public JobHandle ScheduleSend(ref SendJobArguments arguments, JobHandle dep)
        {
            // Before the send: no answer can come first.
            if (thread != null)
                dep = new SendingJob { Queue = arguments.SendQueue, Place = place }.Schedule(dep);
            return inner.ScheduleSend(ref arguments, dep);
        }

        public void Dispose()
        {
            inner.Dispose();
            if (bound)
                thread.SocketClosed(socket);
            if (thread != null)
                thread.Dispose();
            lock (All)
                All[place] = null;
        }

        private static RecordedNetworkInterface At(int place)
        {
            lock (All)
                return All[place];
        }

        private static Endpoint Of(NetworkEndpoint endpoint)
        {
            Endpoint made = default(Endpoint);
            made.Family = endpoint.Family == NetworkFamily.Ipv6 ? (ushort)6 : (ushort)4;
            if (!endpoint.IsValid)
                return made;
            made.Port = endpoint.Port;
            NativeArray<byte> raw = endpoint.GetRawAddressBytes();
            for (int at = 0; at < raw.Length && at < 16; ++at)
                made.Address[at] = raw[at];
            raw.Dispose();
            return made;
        }

        // Without Burst: they call a library by delegates.
        private struct ReceivedJob : IJob
        {
            public PacketsQueue Queue;
            public int Place;

            public void Execute()
            {
                RecordedNetworkInterface of = At(Place);
                bool any = false;
                for (int at = 0; at < Queue.Count; ++at)
                {
                    PacketProcessor packet = Queue[at];
                    if (packet.Length <= 0)
                        continue;
                    any = true;
                    byte* bytes = (byte*)packet.GetUnsafePayloadPtr() + packet.Offset;
                    of.thread.Received(of.socket, Of(packet.EndpointRef), bytes, packet.Length);
                }
                if (!any)
                    of.thread.PollEmpty(of.socket);
            }
        }

        private struct SendingJob : IJob
        {
            public PacketsQueue Queue;
            public int Place;

            public void Execute()
            {
                RecordedNetworkInterface of = At(Place);
                for (int at = 0; at < Queue.Count; ++at)
                {
                    PacketProcessor packet = Queue[at];
                    if (packet.Length <= 0) // dropped by a layer
                        continue;
                    byte* bytes = (byte*)packet.GetUnsafePayloadPtr() + packet.Offset;
                    of.thread.Sent(of.socket, Of(packet.EndpointRef), bytes, packet.Length);
                }
            }
        }
    }
}
