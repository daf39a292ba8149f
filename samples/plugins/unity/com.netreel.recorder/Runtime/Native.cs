// SPDX-License-Identifier: MIT OR Apache-2.0
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Netreel
{
    /// The functions of netreel.h, in the order of its table.
    internal enum Slot
    {
        error_text, code_name, endpoint_from_sockaddr, endpoint_to_sockaddr,
        open, close, trigger, thread_open, thread_close, switch_on,
        socket_opened, socket_closed, packet_sent, send_result, packet_received, poll_empty,
        receive_failed, input, tick, clock_read, random_drawn, note, snapshot,
        replay_open, replay_close, replay_start, replay_socket, replay_next, replay_tick, replay_input,
        replay_receive, replay_send, replay_clock, replay_random, replay_report,
        believes_created, believes_destroyed, believes_owner, believes_value, believes_text,
        console_open, console_close, console_local, console_take, console_answer,
        Count,
    }

    /// netreel_endpoint.
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Endpoint
    {
        public ushort Family; // 4 or 6
        public ushort Port;
        public uint Flow;
        public uint Scope;
        public fixed byte Address[16];
    }

    /// netreel_options.
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeOptions
    {
        public uint Size, Flags;
        public IntPtr Path, Node, Engine, Build, Start;
        public ulong StartLength;
        public IntPtr Args, Wires, Seeds, Hashes;
        public uint ArgsCount, WiresCount, SeedsCount, HashesCount;
        public fixed byte Session[16];
        public ulong BufferBytes;
        public uint ThreadsMax, Reserved;
        public ulong RingMs, RotateBytes, RotateMs, KeepBytes, KeepMs, MaxBytes, MaxMs;
    }

    /// A call of libnetreel that failed, with its sentence.
    public sealed class NetreelException : Exception
    {
        public readonly int Code;
        public NetreelException(int code, string text) : base(text) { Code = code; }
    }

    /// The table of libnetreel, loaded for the first recorder: Plugins/netreel.dll, or libnetreel.so.
    internal static unsafe class Native
    {
        private const uint Version = 1;
        private const int Unsupported = -12;

        [DllImport("netreel", CallingConvention = CallingConvention.Cdecl)]
        private static extern int netreel_load(IntPtr table, uint size, uint version);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate IntPtr TextOf();
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int Of(IntPtr handle);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfText(IntPtr handle, byte* text);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfNumber(IntPtr handle, ulong value);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfNumbers(IntPtr handle, ulong one, ulong two);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfSocket(IntPtr handle, uint socket);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfSocketAndCode(IntPtr handle, uint socket, int code);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OfBytes(IntPtr handle, byte* bytes, ulong length);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OpenRecorder(NativeOptions* options, IntPtr* recorder);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int CloseRecorder(IntPtr recorder, IntPtr summary);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OpenThread(IntPtr recorder, IntPtr* thread);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int OpenSocket(IntPtr thread, Endpoint* local, uint* socket);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int PacketSent(IntPtr thread, uint socket, Endpoint* to, byte* bytes, ulong length, IntPtr sent);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int PacketReceived(IntPtr thread, uint socket, Endpoint* from, byte* bytes, ulong length);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int BelievesValue(IntPtr thread, ulong item, byte* property, double* numbers, uint count);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] internal delegate int BelievesText(IntPtr thread, ulong item, byte* property, byte* text, ulong length);

        private static readonly object Locked = new object();
        private static IntPtr table;
        private static bool loaded;

        internal static TextOf ErrorText;
        internal static OpenRecorder Open;
        internal static CloseRecorder Close;
        internal static OfText Trigger;
        internal static OpenThread ThreadOpen;
        internal static Of ThreadClose;
        internal static OpenSocket SocketOpened;
        internal static OfSocket SocketClosed;
        internal static PacketSent Sent;
        internal static PacketReceived Received;
        internal static OfSocket PollEmpty;
        internal static OfSocketAndCode ReceiveFailed;
        internal static OfBytes Input;
        internal static OfNumbers Tick;
        internal static OfNumber ClockRead;
        internal static OfNumber RandomDrawn;
        internal static OfBytes Note;
        internal static OfBytes Snapshot;
        internal static OfNumbers BelievesCreated;
        internal static OfNumber BelievesDestroyed;
        internal static OfNumbers BelievesOwner;
        internal static BelievesValue Value;
        internal static BelievesText Text;

        /// Once, before all else. Throws NetreelException where there is no library, or an older one.
        internal static void Load()
        {
            lock (Locked)
            {
                if (loaded)
                    return;
                Fill();
                ErrorText = Get<TextOf>(Slot.error_text);
                Open = Get<OpenRecorder>(Slot.open);
                Close = Get<CloseRecorder>(Slot.close);
                Trigger = Get<OfText>(Slot.trigger);
                ThreadOpen = Get<OpenThread>(Slot.thread_open);
                ThreadClose = Get<Of>(Slot.thread_close);
                SocketOpened = Get<OpenSocket>(Slot.socket_opened);
                SocketClosed = Get<OfSocket>(Slot.socket_closed);
                Sent = Get<PacketSent>(Slot.packet_sent);
                Received = Get<PacketReceived>(Slot.packet_received);
                PollEmpty = Get<OfSocket>(Slot.poll_empty);
                ReceiveFailed = Get<OfSocketAndCode>(Slot.receive_failed);
                Input = Get<OfBytes>(Slot.input);
                Tick = Get<OfNumbers>(Slot.tick);
                ClockRead = Get<OfNumber>(Slot.clock_read);
                RandomDrawn = Get<OfNumber>(Slot.random_drawn);
                Note = Get<OfBytes>(Slot.note);
                Snapshot = Get<OfBytes>(Slot.snapshot);
                BelievesCreated = Get<OfNumbers>(Slot.believes_created);
                BelievesDestroyed = Get<OfNumber>(Slot.believes_destroyed);
                BelievesOwner = Get<OfNumbers>(Slot.believes_owner);
                Value = Get<BelievesValue>(Slot.believes_value);
                Text = Get<BelievesText>(Slot.believes_text);
                loaded = true;
            }
        }

        private static void Fill()
        {
            // Two numbers of 32 bits, and the functions.
            int size = 8 + IntPtr.Size * (int)Slot.Count;
            if (table == IntPtr.Zero)
                table = Marshal.AllocHGlobal(size);
            for (int place = 0; place < size; ++place)
                Marshal.WriteByte(table, place, 0);
            int code;
            try
            {
                code = netreel_load(table, (uint)size, Version);
            }
            catch (TypeLoadException why) // DllNotFoundException, EntryPointNotFoundException
            {
                throw new NetreelException(Unsupported, "libnetreel is not there: ./dev install-c lays it out for Assets/Plugins (" + why.Message + ")");
            }
            catch (BadImageFormatException why)
            {
                throw new NetreelException(Unsupported, "libnetreel is that of another system: " + why.Message);
            }
            if (code < 0)
                throw new NetreelException(code, "this libnetreel does not serve version 1 of its table");
        }

        private static T Get<T>(Slot slot) where T : class
        {
            IntPtr function = Marshal.ReadIntPtr(table, 8 + IntPtr.Size * (int)slot);
            if (function == IntPtr.Zero)
                throw new NetreelException(Unsupported, "this libnetreel is older than its function " + slot);
            return Marshal.GetDelegateForFunctionPointer(function, typeof(T)) as T;
        }

        /// Throws what libnetreel says of its last error.
        internal static void Check(int code)
        {
            if (code < 0)
                throw new NetreelException(code, FromUtf8(ErrorText()));
        }

        private static string FromUtf8(IntPtr text)
        {
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0)
                ++length;
            byte[] bytes = new byte[length];
            Marshal.Copy(text, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }

        /// A text of UTF-8 that ends with a zero byte.
        internal static byte[] Utf8(string text)
        {
            return Encoding.UTF8.GetBytes(text + "\0");
        }
    }
}
