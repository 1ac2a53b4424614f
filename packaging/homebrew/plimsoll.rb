# Parsed by `cargo xtask package`, not run: there is no Homebrew where it is built.
class Plimsoll < Formula
  desc "Finds how much load a web service carries and names what limits it"
  homepage "@HOMEPAGE@"
  url "@DOWNLOADS@/@ARCHIVE@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on arch: :x86_64
  depends_on :linux

  def install
    bin.install "bin/plimsoll"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/completions/plimsoll.bash" => "plimsoll"
    zsh_completion.install "share/completions/_plimsoll"
    fish_completion.install "share/completions/plimsoll.fish"
  end

  test do
    assert_equal "plimsoll #{version}", shell_output("#{bin}/plimsoll --version").strip
    assert_match "$schema", shell_output("#{bin}/plimsoll generate schema run")
  end
end
