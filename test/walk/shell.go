package walk

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Shell is the reader's terminal: variables and the folder stay from one command to the next.
type Shell struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	dir    string
	number int
}

// Start starts a shell, which the command is: bash, without arguments, wherever it runs. Its folder is for files on the way.
func Start(cmd *exec.Cmd, dir string) (*Shell, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the shell: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the shell: %w", err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the shell: %w", err)
	}
	return &Shell{cmd: cmd, in: in, out: bufio.NewReader(out), dir: dir}, nil
}

// Run types a command, and returns all that it prints and its exit code. The context's end is the end of the shell, too.
func (s *Shell) Run(ctx context.Context, command string) (printed string, exit int, err error) {
	s.number++
	typed, screen := filepath.Join(s.dir, fmt.Sprintf("command-%d", s.number)), filepath.Join(s.dir, fmt.Sprintf("screen-%d", s.number))
	if err := os.WriteFile(typed, []byte(command+"\n"), 0o600); err != nil {
		return "", 0, fmt.Errorf("type a command: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Cancel() })
	defer stop()
	if _, err := fmt.Fprintf(s.in, ". %s >%s 2>&1 </dev/null; echo $?\n", quoted(typed), quoted(screen)); err != nil {
		return "", 0, fmt.Errorf("type a command: %w", err)
	}
	line, err := s.out.ReadString('\n')
	text, readErr := os.ReadFile(screen)
	switch {
	case ctx.Err() != nil:
		return string(text), 0, fmt.Errorf("%s: %w; so far it printed: %s", command, ctx.Err(), text)
	case err != nil:
		return string(text), 0, fmt.Errorf("%s: the shell has ended: %w", command, err)
	case readErr != nil:
		return "", 0, fmt.Errorf("read what %s printed: %w", command, readErr)
	}
	exit, err = code(line)
	return string(text), exit, err
}

// Close ends the shell.
func (s *Shell) Close() error {
	if err := s.in.Close(); err != nil {
		return fmt.Errorf("end the shell: %w", err)
	}
	return s.cmd.Wait()
}
