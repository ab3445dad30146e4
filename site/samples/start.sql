-- The first page shows it, and the build runs it on the local stack.
-- #region shown
insert into keyframe.predictions (project_id, step)
select id, 'first-frame' from keyframe.projects where title = 'Harbour'
returning id, status, model;  -- its price is reserved, and a worker has it already

select why, count(*) from keyframe_private.admin_queue group by why;
-- #endregion
