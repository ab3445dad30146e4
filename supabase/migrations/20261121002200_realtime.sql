-- Realtime, where the platform has it: apps may subscribe to their own predictions (docs/realtime.md).
-- What a subscriber gets is decided by the table's policies and grants, as for a select. The replica identity stays the primary
-- key: deletions are told to every subscriber, and then tell no more than an identifier.

do $$
begin
  if exists (select from pg_publication p where p.pubname = 'supabase_realtime' and not p.puballtables)
    and not exists (
      select from pg_publication_tables t
      where t.pubname = 'supabase_realtime' and t.schemaname = 'keyframe' and t.tablename = 'predictions')
  then
    alter publication supabase_realtime add table keyframe.predictions;
  end if;
end
$$;
