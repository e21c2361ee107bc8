package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// asProgram tells the test binary to be the program.
const asProgram = "FAIRLEAD_TEST_WEBHOOK"

func TestMain(m *testing.M) {
	if _, is := os.LookupEnv(asProgram); !is {
		os.Exit(m.Run())
	}
	main()
}

// start runs the program and returns the address that it serves at. It ends
// with the test, by a signal, and must end well.
func start(t *testing.T, args ...string) string {
	t.Helper()
	// The test's own context ends before its clean-up, and would kill it.
	program := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...)
	program.Env = append(os.Environ(), asProgram+"=1")
	out, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Signal(syscall.SIGTERM) // it may have ended
		_, _ = io.Copy(io.Discard, out)
		if err := program.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	address := regexp.MustCompile(`address=(\S+)`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		t.Log(lines.Text())
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("the program does not say where it serves")
	return ""
}

// TestConformance starts the program, as a reader of docs/cloud/webhook.md
// does, and runs the command with the suite against it.
func TestConformance(t *testing.T) {
	dir := t.TempDir()
	suite := filepath.Join(dir, "conformance")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", suite, "../../test/hookconformance/cmd").CombinedOutput(); err != nil {
		t.Fatalf("build the suite: %v: %s", err, out)
	}
	cert, key := certificate(t, dir)
	token, wrong := filepath.Join(dir, "token"), filepath.Join(dir, "wrong")
	write(t, token, []byte("secret\n"))
	write(t, wrong, []byte("guess\n"))
	spec := filepath.Join(dir, "spec.json")
	write(t, spec, []byte(`{"ports": [{"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}, {"name": "https", "protocol": "TCP", "port": 443, "nodePort": 30443}],
		"targets": {"nodes": [{"name": "a", "addresses": ["198.18.0.1"]}, {"name": "b", "addresses": ["198.18.0.2"]}]}}`))
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, suite, args...).CombinedOutput()
		return string(out), err
	}
	kept := func(least int, out string, err error) {
		t.Helper()
		if promises := strings.Count(out, "\nok ") + 1; err != nil || strings.Contains(out, "BROKEN") || promises < least {
			t.Errorf("%d promises, %v:\n%s", promises, err, out)
		}
	}

	socket := "unix://" + filepath.Join(dir, "hook.sock")
	start(t, "--listen", socket)
	out, err := run("--url", socket, "--spec", spec)
	kept(12, out, err)
	out, err = run("--url", socket, "--dns-name", "probe.example.com.")
	kept(10, out, err)

	address := start(t, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--token", token)
	out, err = run("--url", "https://"+address, "--ca", cert, "--token", token, "--spec", spec)
	kept(12, out, err)
	if out, err := run("--url", "https://"+address, "--ca", cert, "--token", wrong); err == nil || !strings.Contains(out, "BROKEN  capabilities") {
		t.Errorf("a wrong token: %v\n%s", err, out)
	}
}

// TestAWS starts the program with AWS behind it, which is a fake one that the
// real SDK talks to, and runs the same command against it: for all that the
// operator sees, AWS is a webhook.
func TestAWS(t *testing.T) {
	dir := t.TempDir()
	suite := filepath.Join(dir, "conformance")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", suite, "../../test/hookconformance/cmd").CombinedOutput(); err != nil {
		t.Fatalf("build the suite: %v: %s", err, out)
	}
	cloud := fakeaws.New(fakeaws.Options{})
	cloud.Zones3()
	cloud.AddZone("Z1", "example.com.", false, nil)
	nodes := cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/conformance": "owned"})
	var list []string
	for n := range 2 {
		id := fmt.Sprintf("i-%017x", n+1)
		cloud.AddInstance(id, "subnet-a", fmt.Sprintf("10.0.1.%d", n+10), nodes)
		list = append(list, fmt.Sprintf(`{"name": %q, "providerID": "aws:///eu-central-1a/%s"}`, id, id))
	}
	spec := filepath.Join(dir, "spec.json")
	write(t, spec, []byte(`{"ports": [{"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}], "targets": {"nodes": [`+strings.Join(list, ",")+`]}}`))
	endpoint := httptest.NewServer(cloud)
	t.Cleanup(endpoint.Close)
	// What a pod's environment would have.
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": endpoint.URL,
	} {
		t.Setenv(key, value)
	}
	socket := "unix://" + filepath.Join(dir, "hook.sock")
	start(t, "--listen", socket, "--hook", "aws", "--cluster", "conformance", "--aws-poll", "100ms")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for least, args := range map[int][]string{12: {"--spec", spec, "--cluster", "conformance"}, 10: {"--dns-name", "probe.example.com."}} {
		out, err := exec.CommandContext(ctx, suite, append(args, "--url", socket)...).CombinedOutput()
		if promises := strings.Count(string(out), "\nok ") + 1; err != nil || strings.Contains(string(out), "BROKEN") || promises < least {
			t.Errorf("%d promises, %v:\n%s", promises, err, out)
		}
	}
	if left := len(cloud.Balancers()) + len(cloud.Groups()) + len(cloud.SecurityGroups()); left != 1 {
		t.Errorf("%d resources are left besides the nodes' security group", left-1)
	}
	if fakeaws.Count(cloud.Since(0), "CreateLoadBalancer") == 0 || fakeaws.Count(cloud.Since(0), "ChangeResourceRecordSets") == 0 {
		t.Error("AWS was not asked")
	}
}

// TestRefused: settings that cannot work say which.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--hook=other", "--hook"},
		{"--hook=aws", "--cluster"},
		{"--addresses=here", "--addresses"},
		{"--token=x", "--tls-cert"},
		{"--tls-cert=none --tls-key=none", "--tls-cert"},
	} {
		if err := run(t.Context(), strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate writes one of 127.0.0.1, which is its own CA.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return cert, key
}
