package filesource

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// Watch is how changes of files are noticed.
type Watch string

// The ways. Notify falls back to Poll where the kernel reports no changes.
const (
	Notify Watch = "notify"
	Poll   Watch = "poll"
	Off    Watch = "off"
)

const (
	// pollPause is the time between two looks where nothing reports changes.
	pollPause = 2 * time.Second
	// glance is the time between looks beside the reports, for what they leave out:
	// the targets of links outside of the folders.
	glance = 5 * time.Second
	// patience is how many times Settle files may keep changing until they are read.
	patience = 10
)

// Run reads files after they have changed, until ctx ends. What comes over again, which
// may be nil, asks for all files to be read.
func (s *Source) Run(ctx context.Context, again <-chan os.Signal) error {
	if s.o.Watch == Off {
		<-ctx.Done()
		return nil
	}
	w := s.watcher()
	if w != nil {
		defer w.close()
	}
	settle := time.NewTimer(time.Hour)
	settle.Stop()
	var began time.Time
	for {
		events, problems, pause := w.events()
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			s.report(s.Reload())
			continue
		case e := <-events:
			if e.Op == fsnotify.Chmod {
				continue
			}
			if began.IsZero() {
				began = time.Now()
			}
			settle.Reset(min(s.o.Settle, time.Until(began.Add(patience*s.o.Settle))))
			continue
		case err := <-problems: // more changes than the kernel remembers
			s.o.Notice(fmt.Sprintf("changes may have been missed, so all files are looked at: %v", err))
		case <-settle.C:
		case <-time.After(pause):
		}
		if began.IsZero() {
			began = time.Now()
		}
		s.report(s.look(began, false))
		began = time.Time{}
		w.follow(s.watched(), s.o.Notice)
	}
}

func (s *Source) report(err error) {
	if err != nil {
		s.o.Notice(fmt.Sprintf("%v; what was read before stays", err))
	}
}

func (s *Source) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.folders)
}

// watcher follows the folders, or is nil where the kernel reports no changes of them.
func (s *Source) watcher() *watcher {
	if s.o.Watch == Poll {
		return nil
	}
	n, err := fsnotify.NewWatcher()
	if err != nil {
		s.o.Notice(fmt.Sprintf("changes are looked for every %s: the kernel does not report them: %v", pollPause, err))
		return nil
	}
	w := &watcher{notify: n}
	w.follow(s.watched(), s.o.Notice)
	return w
}

type watcher struct {
	notify *fsnotify.Watcher
	// polling is true where a folder cannot be watched.
	polling bool
	folders []string
}

func (w *watcher) close() { _ = w.notify.Close() }

func (w *watcher) events() (<-chan fsnotify.Event, <-chan error, time.Duration) {
	switch {
	case w == nil:
		return nil, nil, pollPause
	case w.polling:
		return w.notify.Events, w.notify.Errors, pollPause
	}
	return w.notify.Events, w.notify.Errors, glance
}

// follow watches these folders and no others.
func (w *watcher) follow(folders []string, notice func(string)) {
	if w == nil || slices.Equal(folders, w.folders) && !w.polling {
		return
	}
	for _, gone := range w.folders {
		if !slices.Contains(folders, gone) {
			_ = w.notify.Remove(gone)
		}
	}
	before := w.polling
	w.folders, w.polling = folders, false
	for _, folder := range folders {
		err := w.notify.Add(folder)
		if err == nil && remote(folder) {
			err = fmt.Errorf("%s is on a file system of another machine", folder)
		}
		if err != nil {
			w.polling = true
			if !before {
				notice(fmt.Sprintf("changes are looked for every %s: %v", pollPause, err))
				before = true
			}
		}
	}
}

// remote reports whether a folder is on a file system whose changes the kernel does not
// see, because others make them.
func remote(folder string) bool {
	const cifs, smb2, fuse, v9fs = 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil {
		return false
	}
	return slices.Contains([]uint32{unix.NFS_SUPER_MAGIC, cifs, smb2, fuse, v9fs}, uint32(fs.Type))
}
