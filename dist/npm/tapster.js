#!/usr/bin/env node
// Starts the program of the platform's package. Nothing runs at installation, so package managers without scripts work too.
"use strict";
const { spawnSync } = require("node:child_process");

const libc = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime ? "-musl" : "";
const name = `@tapster/${process.platform}-${process.arch}${libc}`;
const file = process.platform === "win32" ? "tapster.exe" : "tapster";

let program;
try {
    program = require.resolve(`${name}/${file}`);
} catch {
    const help = "install without `--no-optional` and `--omit=optional`, or take the program from the releases";
    console.error(`tapster: the package ${name} is not installed; ${help}`);
    process.exit(2);
}
const { error, status, signal } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
    console.error(`tapster: ${program} cannot be started: ${error.message}`);
    process.exit(2);
}
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 2);
