// `./dev install-c Plugins/Netreel/ThirdParty/Netreel` lays out what is named here.
using System.IO;
using UnrealBuildTool;

public class Netreel : ModuleRules
{
    public Netreel(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp20;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "Sockets" });
        PrivateDependencyModuleNames.Add("Projects");

        string Prefix = Path.Combine(PluginDirectory, "ThirdParty", "Netreel");
        PrivateIncludePaths.Add(Path.Combine(Prefix, "include"));
        // Loaded when a recording begins, and not linked: a game that ships without it runs as before.
        bool bWindows = Target.Platform == UnrealTargetPlatform.Win64;
        string Library = bWindows ? Path.Combine(Prefix, "bin", "netreel.dll") : Path.Combine(Prefix, "lib", "libnetreel.so");
        if (File.Exists(Library))
            RuntimeDependencies.Add(Library);
    }
}
