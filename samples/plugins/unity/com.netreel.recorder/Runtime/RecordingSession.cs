// SPDX-License-Identifier: MIT OR Apache-2.0
using System;
using UnityEngine;

namespace Netreel
{
    /// Records while it is there, where the program was started with `-netreel FILE.reel`; announces each
    /// fixed step as a tick. Drivers are made with `new RecordedNetworkInterface(session.Recorder)`.
    public sealed class RecordingSession : MonoBehaviour
    {
        /// null: nothing is recorded.
        public Recorder Recorder { get; private set; }

        private ulong tick;

        private void Awake()
        {
            string[] args = Environment.GetCommandLineArgs();
            int at = Array.IndexOf(args, "-netreel");
            if (at < 0 || at + 1 >= args.Length)
                return;
            try
            {
                Recorder = new Recorder(args[at + 1], "", "Unity", Application.version);
            }
            catch (Exception why)
            {
                // The game goes on as it would without.
                Debug.LogError("not recorded: " + (why.InnerException ?? why).Message);
            }
        }

        private void FixedUpdate()
        {
            if (Recorder != null)
                Recorder.Main.Tick(++tick, (ulong)(Time.fixedTimeAsDouble * 1e9));
        }

        private void OnDestroy()
        {
            if (Recorder != null)
                Recorder.Dispose();
            Recorder = null;
        }
    }
}
