-- Realtime, where the platform has it: apps may subscribe to their own predictions (docs/realtime.md). The policies and grants of
-- the table decide what a subscriber gets, as for a select. Deletions go to every subscriber, so the replica identity stays the
-- primary key: they reveal an identifier only.

do $$
begin
  if exists (select from pg_publication p where p.pubname = 'supabase_realtime' and not p.puballtables)
    and not exists (
      select from pg_publication_tables t
      where t.pubname = 'supabase_realtime' and t.schemaname = 'keyframe' and t.tablename = 'predictions')
  then
    alter publication supabase_realtime add table keyframe.predictions;
  end if;
end $$;
