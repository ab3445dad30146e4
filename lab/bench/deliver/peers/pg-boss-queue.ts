export const PG_BOSS_QUEUE = "webhooks";
