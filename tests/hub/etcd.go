package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// newEtcdCommand serves one member without TLS on loopback. Nothing it holds outlives the test, so it does not wait
// for the disk unless it is told to: then it is measured.
func newEtcdCommand() *cobra.Command {
	var folder, client, peer string
	var durable bool
	command := &cobra.Command{
		Use:          "etcd",
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return serveEtcd(folder, client, peer, durable) },
	}
	command.Flags().StringVar(&folder, "data-dir", "", "folder of the database")
	command.Flags().StringVar(&client, "listen-client-url", "", "where clients are served")
	command.Flags().StringVar(&peer, "listen-peer-url", "", "where other members would be served")
	command.Flags().BoolVar(&durable, "fsync", false, "wait for the disk, as for real")
	return command
}

func serveEtcd(folder, client, peer string, durable bool) error {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "warn"
	config.UnsafeNoFsync = !durable
	clients, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("--listen-client-url: %w", err)
	}
	peers, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("--listen-peer-url: %w", err)
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clients}, []url.URL{*clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peers}, []url.URL{*peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	member, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-member.Err()
}
