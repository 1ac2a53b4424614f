# Parsed by `cargo xtask package`, not built: there is no Nix store where it is checked.
#
#   nix build 'git+file:.?dir=packaging/nix'
{
  description = "Finds how much load a web service carries, names what limits it, and keeps it afloat beyond";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forAll = each: nixpkgs.lib.genAttrs systems (system: each nixpkgs.legacyPackages.${system});
      workspace = fromTOML (builtins.readFile ../../Cargo.toml);
    in
    {
      packages = forAll (pkgs: rec {
        default = plimsoll;
        plimsoll = pkgs.rustPlatform.buildRustPackage {
          pname = "plimsoll";
          version = workspace.workspace.package.version;
          src = ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          cargoBuildFlags = [ "--package" "plimsoll" ];
          # The tests start databases and servers of Debian: `cargo xtask test` runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/plimsoll generate completions completions
            $out/bin/plimsoll generate man man
            installManPage man/*.1
            installShellCompletion --cmd plimsoll --bash completions/plimsoll.bash \
              --zsh completions/_plimsoll --fish completions/plimsoll.fish
          '';
          meta = {
            description = "Finds how much load a web service carries, names what limits it, and keeps it afloat beyond";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "plimsoll";
            platforms = systems;
          };
        };
      });
    };
}
