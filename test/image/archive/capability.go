package archive

import "encoding/binary"

// capabilityRecord is where a tar keeps a file's capabilities: an extended
// attribute, in the form that GNU tar, Docker and containerd read.
const capabilityRecord = "SCHILY.xattr.security.capability"

// Capabilities of linux/capability.h.
const (
	netBindService = 10
	netRaw         = 13
)

// capabilities are what a program's file gives to the user that runs it.
type capabilities struct {
	// permitted has one bit for each capability of the kernel.
	permitted uint64
	// effective gives them from the start. Where the container may not have them,
	// the program then does not start; otherwise it starts without.
	effective bool
}

// attribute returns the set as the kernel keeps it with a file (struct
// vfs_cap_data, revision 2).
func (c capabilities) attribute() string {
	var revision2 uint32 = 0x02000000
	if c.effective {
		revision2 |= 1
	}
	data := binary.LittleEndian.AppendUint32(nil, revision2)
	for _, permitted := range []uint32{uint32(c.permitted), uint32(c.permitted >> 32)} {
		data = binary.LittleEndian.AppendUint32(data, permitted)
		data = binary.LittleEndian.AppendUint32(data, 0) // nothing is inheritable
	}
	return string(data)
}
