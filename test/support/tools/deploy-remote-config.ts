/** What the platform says of its Data API; the part that a push changes. */
export type ApiSettings = { db_schema: string; db_extra_search_path: string; max_rows: number };

/** The settings of a hosted project in the form the CLI reads; as of a new one, with a few an owner chose. */
export function remoteConfig(project: string, api: ApiSettings) {
  return {
    data: {
      type: "project_config",
      id: project,
      attributes: {
        database: {
          major_version: 17,
          ssl_enforced: false,
          network_restrictions: { entitlement: "disallowed", status: "applied", allowed_cidrs: [] },
          postgres_settings: {},
        },
        pooler: {
          pool_mode: "transaction",
          ignore_startup_parameters: "",
          server_idle_timeout: 60,
          server_lifetime: 3600,
          query_wait_timeout: 120,
          reserve_pool_size: 0,
          default_pool_size: 15,
          max_client_conn: 200,
        },
        auth: {
          site_url: "https://film.example.com",
          disable_signup: true,
          mailer_autoconfirm: false,
          password_min_length: 12,
          jwt_exp: 1800,
          external_anonymous_users_enabled: false,
        },
        api: {
          ...api,
          db_pool_acquisition_timeout: 10,
          db_pool_max_lifetime: 1800,
          db_pool_max_idletime: 30,
          db_pool: null,
        },
        realtime: {
          private_only: false,
          max_concurrent_users: 200,
          max_events_per_second: 100,
          max_bytes_per_second: 100_000,
          max_channels_per_client: 100,
          max_joins_per_second: 100,
          max_presence_events_per_second: 20,
          max_payload_size_in_kb: 100,
          presence_enabled: true,
          suspend: false,
          connection_pool: 2,
          postgres_changes_pool: null,
        },
        storage: {
          file_size_limit: 52_428_800,
          features: {
            image_transformation: { enabled: false },
            s3_protocol: { enabled: true },
            purge_cache: { enabled: false },
            iceberg_catalog: { enabled: false, max_namespaces: 1, max_tables: 1, max_catalogs: 1 },
            vector_buckets: { enabled: false, max_buckets: 1, max_indexes: 1 },
          },
          capabilities: { list_v2: true, iceberg_catalog: false, object_versioning: false },
          upstream_target: "main",
          migration_version: null,
        },
      },
    },
  };
}
