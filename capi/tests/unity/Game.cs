// The package in an engine that is not one: two drivers whose interfaces are recorded, 50 updates.
// `Game.exe SERVER.reel CLIENT.reel`, or without a word where there is no library.
using System;
using System.Collections.Generic;
using System.Threading;
using Netreel;
using Unity.Jobs;
using Unity.Networking.Transport;

public static class Game
{
    private static int wrong;

    private static void Check(bool so, string what)
    {
        if (so)
            return;
        Console.WriteLine("not so: " + what);
        ++wrong;
    }

    private static unsafe void Send(INetworkInterface of, NetworkEndpoint to, params byte[] bytes)
    {
        SendJobArguments arguments = new SendJobArguments { SendQueue = new PacketsQueue { All = new List<Unity.Networking.Transport.Buffer>() } };
        PacketProcessor packet;
        arguments.SendQueue.EnqueuePacket(out packet);
        packet.EndpointRef = to;
        packet.of.Length = bytes.Length;
        for (int at = 0; at < bytes.Length; ++at)
            ((byte*)packet.GetUnsafePayloadPtr())[packet.Offset + at] = bytes[at];
        // One that a layer dropped.
        arguments.SendQueue.EnqueuePacket(out packet);
        of.ScheduleSend(ref arguments, default(JobHandle));
    }

    private static PacketsQueue Receive(INetworkInterface of)
    {
        ReceiveJobArguments arguments = new ReceiveJobArguments { ReceiveQueue = new PacketsQueue { All = new List<Unity.Networking.Transport.Buffer>() } };
        of.ScheduleReceive(ref arguments, default(JobHandle));
        return arguments.ReceiveQueue;
    }

    private static PacketsQueue Await(INetworkInterface of)
    {
        PacketsQueue queue = Receive(of);
        while (queue.Count == 0)
        {
            Thread.Sleep(1);
            queue = Receive(of);
        }
        return queue;
    }

    private static void RefusedWithoutLibrary()
    {
        try
        {
            new Recorder("none.reel");
            Check(false, "without a library nothing is recorded");
        }
        catch (NetreelException why)
        {
            Check(why.Code == -12 && why.Message.Contains("libnetreel is not there"), why.Message);
        }
    }

    /// A recorder that has no more threads.
    private static void Exhaust(Recorder recorder)
    {
        for (int opened = 0; opened < 2000; ++opened)
        {
            try
            {
                recorder.OpenThread();
            }
            catch (NetreelException)
            {
                return;
            }
        }
        Check(false, "threads come to an end");
    }

    /// Interfaces without a thread, and of a recorder that is gone, do what the platform's do.
    private static void Unrecorded(INetworkInterface one)
    {
        NetworkSettings settings = default(NetworkSettings);
        int padding = 0;
        Check(one.Initialize(ref settings, ref padding) == 0 && one.Bind(NetworkEndpoint.LoopbackIpv4) == 0, "it is bound");
        Send(one, one.LocalEndpoint, 5);
        Check(Await(one)[0].Length == 1, "and its packets come");
        one.Dispose();
    }

    public static int Main(string[] args)
    {
        if (args.Length == 0)
        {
            RefusedWithoutLibrary();
            RefusedWithoutLibrary();
            return wrong == 0 ? 0 : 1;
        }
        NetworkSettings settings = default(NetworkSettings);
        int padding = 0;
        Recorder gone;
        INetworkInterface late;
        using (Recorder first = new Recorder(args[0], "server"), second = new Recorder(args[1], "client", "Unity", "7"))
        {
            INetworkInterface server = new RecordedNetworkInterface(first), client = new RecordedNetworkInterface(second);
            foreach (INetworkInterface one in new[] { server, client })
                Check(one.Initialize(ref settings, ref padding) == 0 && one.Bind(NetworkEndpoint.LoopbackIpv4) == 0 && one.Listen() == 0, "an interface is bound");
            for (int update = 0; update < 50; ++update)
            {
                first.Main.Tick((ulong)update, (ulong)update * 20000000);
                second.Main.Tick((ulong)update, (ulong)update * 20000000);
                Send(client, server.LocalEndpoint, 1, 2, 3, (byte)update);
                PacketsQueue got = Await(server);
                Check(got.Count == 1 && got[0].Length == 4, "a packet comes");
                Send(server, got[0].EndpointRef, 9, (byte)update);
                Await(client);
            }
            second.Main.Note("a note");
            second.Main.Input(new byte[] { 7 });
            second.Main.Snapshot(new byte[] { 8, 9 });
            second.Main.ClockRead(5);
            second.Main.RandomDrawn(6);
            second.Main.Created(42, 3);
            second.Main.Value(42, "position", 1, 2, 3);
            second.Main.Text(42, "name", "Bob");
            second.Main.Owner(42, 4);
            second.Main.Destroyed(42);
            server.Dispose();
            client.Dispose();
            late = new RecordedNetworkInterface(first); // bound when its recorder is gone
            Exhaust(first);
            Unrecorded(new RecordedNetworkInterface(first));
            gone = first;
            try
            {
                new Recorder(args[0]);
                Check(false, "a reel of this name is refused");
            }
            catch (NetreelException why)
            {
                Check(why.Code == -6 && why.Message.Contains("there is a file already"), why.Message);
            }
        }
        Unrecorded(new RecordedNetworkInterface(gone));
        Unrecorded(late);
        return wrong == 0 ? 0 : 1;
    }
}
