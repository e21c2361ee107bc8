package archive

import "encoding/binary"

// capabilityRecord is where a tar keeps a file's capabilities: an extended
// attribute, in the form that GNU tar, Docker and containerd read.
const capabilityRecord = "SCHILY.xattr.security.capability"

// netRaw is CAP_NET_RAW of linux/capability.h.
const netRaw = 13

// capabilities is a set with one bit for each capability of the kernel.
type capabilities uint64

// attribute returns the set as the kernel keeps it with a file (struct
// vfs_cap_data, revision 2): permitted, and effective from the start.
func (c capabilities) attribute() string {
	const revision2, effective = 0x02000000, 1
	data := binary.LittleEndian.AppendUint32(nil, revision2|effective)
	for _, permitted := range []uint32{uint32(c), uint32(c >> 32)} {
		data = binary.LittleEndian.AppendUint32(data, permitted)
		data = binary.LittleEndian.AppendUint32(data, 0) // nothing is inheritable
	}
	return string(data)
}
