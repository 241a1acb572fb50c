-- Templates, byte for byte as they were authored.

CREATE TABLE tapster_templates (
    id TEXT NOT NULL PRIMARY KEY,
    content BYTEA NOT NULL
);
