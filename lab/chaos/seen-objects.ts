import type postgres from "postgres";

/** When an object came to have the content it has: its row's insertion, and each replacement or renaming. */
export const SEEN_OBJECTS_TABLE =
  "create table if not exists chaos.seen_objects (bucket text, name text, at timestamptz, primary key (bucket, name))";

/**
 * Keeps in mind for which files there was ever a row, since Storage, here and hosted, writes bytes first and their row
 * afterwards: where Postgres or the gateway goes away between the two, the upload is answered with an error and the file
 * stays behind, where nobody can read it. Such a file is nobody's loss; one whose row was there and is gone should be gone, too.
 */
export async function watchObjects(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    ${SEEN_OBJECTS_TABLE};
    create function chaos.see_object() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      insert into chaos.seen_objects values (new.bucket_id, new.name, clock_timestamp())
      on conflict (bucket, name) do update set at = excluded.at;
      return null;
    end $$;
    create trigger _050_chaos after insert or update of name, version on storage.objects
      for each row execute function chaos.see_object();`);
}

/** Files (of chaos.files f) that have had no row since they were written. */
export const NEVER_SEEN =
  "not exists (select from chaos.seen_objects s where s.bucket = f.bucket and s.name = f.name and s.at >= f.written_at)";
