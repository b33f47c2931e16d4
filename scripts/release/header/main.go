// Command header prints what the head of a program says: its format, its processor, and
// what its system asks of it. Systems whose programs cannot be started here are known by
// that alone.
//
//	header PROGRAM
package main

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: header PROGRAM")
		os.Exit(2)
	}
	text, err := header(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "header:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, text)
}

func header(name string) (string, error) {
	if f, err := elf.Open(name); err == nil {
		return linux(f), f.Close()
	}
	if f, err := macho.Open(name); err == nil {
		return darwin(f), f.Close()
	}
	if f, err := pe.Open(name); err == nil {
		text, err := windows(f)
		return text, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("%s is no program of Linux, macOS or Windows", name)
}

// linux: a program that names an interpreter needs a C library.
func linux(f *elf.File) string {
	how := "static"
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			how = "dynamic"
		}
	}
	return fmt.Sprintf("linux %s %s", map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine], how)
}

// darwin: macOS starts programs of at least its version, and on arm64 none without a
// signature.
func darwin(f *macho.File) string {
	const buildVersion, codeSignature = 0x32, 0x1d // of loader.h
	least, signed := "?", "unsigned"
	for _, l := range f.Loads {
		raw := l.Raw()
		switch f.ByteOrder.Uint32(raw) {
		case buildVersion:
			v := f.ByteOrder.Uint32(raw[12:])
			least = fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
		case codeSignature:
			signed = "signed"
		}
	}
	return fmt.Sprintf("darwin %s %s %s", map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu], least, signed)
}

func windows(f *pe.File) (string, error) {
	h, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return "", errors.New("a program of 32 bits")
	}
	kind := "window"
	if h.Subsystem == pe.IMAGE_SUBSYSTEM_WINDOWS_CUI {
		kind = "console"
	}
	return fmt.Sprintf("windows %s %s", map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine], kind), nil
}
