// SPDX-License-Identifier: MIT OR Apache-2.0
using System;
using System.Text;

namespace Netreel
{
    /// A reel under way. For all threads at once; Dispose ends the reel.
    public sealed unsafe class Recorder : IDisposable
    {
        /// The largest number: the owner of an object of which the game does not know one.
        public const ulong NoOwner = ulong.MaxValue;

        private IntPtr handle;

        /// What the main thread records with.
        public readonly RecordedThread Main;

        /// Makes the reel. Throws NetreelException, also where there is no library.
        public Recorder(string path, string node = "", string engine = "Unity", string build = "")
        {
            Native.Load();
            byte[] pathText = Native.Utf8(path), nodeText = Native.Utf8(node);
            byte[] engineText = Native.Utf8(engine), buildText = Native.Utf8(build);
            fixed (byte* pathAt = pathText, nodeAt = nodeText, engineAt = engineText, buildAt = buildText)
            {
                NativeOptions options = default(NativeOptions);
                options.Size = (uint)sizeof(NativeOptions);
                options.Path = (IntPtr)pathAt;
                options.Node = node == "" ? IntPtr.Zero : (IntPtr)nodeAt;
                options.Engine = (IntPtr)engineAt;
                options.Build = build == "" ? IntPtr.Zero : (IntPtr)buildAt;
                IntPtr made;
                Native.Check(Native.Open(&options, &made));
                handle = made;
            }
            try
            {
                Main = OpenThread();
            }
            catch
            {
                Native.Close(handle, IntPtr.Zero);
                handle = IntPtr.Zero;
                throw;
            }
        }

        /// One for each thread that reaches the network layer, and one for each interface. Throws
        /// NetreelException where there are too many, or the recorder was disposed of.
        public RecordedThread OpenThread()
        {
            IntPtr thread;
            Native.Check(Native.ThreadOpen(handle, &thread));
            return new RecordedThread(thread);
        }

        public void Dispose()
        {
            if (handle == IntPtr.Zero)
                return;
            Main.Dispose();
            IntPtr old = handle;
            handle = IntPtr.Zero;
            Native.Check(Native.Close(old, IntPtr.Zero));
        }
    }

    /// What one thread records. For one thread at a time; no call throws or allocates but those of texts.
    public sealed unsafe class RecordedThread : IDisposable
    {
        private IntPtr handle;

        internal RecordedThread(IntPtr made) { handle = made; }

        public void Dispose()
        {
            Native.ThreadClose(handle);
            handle = IntPtr.Zero;
        }

        /// `socket`: its number in the reel. Below 0: it has none, and what is said of it is refused.
        public int SocketOpened(Endpoint local, out uint socket)
        {
            uint number;
            int code = Native.SocketOpened(handle, &local, &number);
            socket = code < 0 ? uint.MaxValue : number;
            return code;
        }

        public void SocketClosed(uint socket) { Native.SocketClosed(handle, socket); }

        /// Before the send.
        public void Sent(uint socket, Endpoint to, byte* bytes, int length)
        {
            Native.Sent(handle, socket, &to, bytes, (ulong)length, IntPtr.Zero);
        }

        /// After the receipt.
        public void Received(uint socket, Endpoint from, byte* bytes, int length)
        {
            Native.Received(handle, socket, &from, bytes, (ulong)length);
        }

        public void PollEmpty(uint socket) { Native.PollEmpty(handle, socket); }
        public void ReceiveFailed(uint socket, int error) { Native.ReceiveFailed(handle, socket, error); }
        public void Tick(ulong tick, ulong time) { Native.Tick(handle, tick, time); }
        public void ClockRead(ulong value) { Native.ClockRead(handle, value); }
        public void RandomDrawn(ulong value) { Native.RandomDrawn(handle, value); }

        public void Input(byte[] call)
        {
            fixed (byte* at = call)
                Native.Input(handle, at, (ulong)call.Length);
        }

        public void Snapshot(byte[] state)
        {
            fixed (byte* at = state)
                Native.Snapshot(handle, at, (ulong)state.Length);
        }

        public void Note(string text)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text);
            fixed (byte* at = bytes)
                Native.Note(handle, at, (ulong)bytes.Length);
        }

        // What the game believes of an object, by the numbers of its protocol.
        public void Created(ulong item, ulong owner = Recorder.NoOwner) { Native.BelievesCreated(handle, item, owner); }
        public void Destroyed(ulong item) { Native.BelievesDestroyed(handle, item); }
        public void Owner(ulong item, ulong owner) { Native.BelievesOwner(handle, item, owner); }

        public void Value(ulong item, string property, params double[] numbers)
        {
            byte[] name = Native.Utf8(property);
            fixed (byte* nameAt = name)
            fixed (double* at = numbers)
                Native.Value(handle, item, nameAt, at, (uint)numbers.Length);
        }

        public void Text(ulong item, string property, string text)
        {
            byte[] name = Native.Utf8(property), bytes = Encoding.UTF8.GetBytes(text);
            fixed (byte* nameAt = name, at = bytes)
                Native.Text(handle, item, nameAt, at, (ulong)bytes.Length);
        }
    }
}
