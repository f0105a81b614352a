BEGIN TRANSACTION;
CREATE TABLE bayescm_acknowledgements (
	classifier TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	batch_id TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	measure TEXT NOT NULL, 
	incident TEXT, 
	note TEXT NOT NULL, 
	recorded_at TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (classifier, number), 
	UNIQUE (classifier, batch_id, rule, measure), 
	FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier)
);
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',1,'day 3','change','answers',NULL,'noticed','2026-11-24T18:07:21.594739Z','78039e0274407cc7db84ff01bb26aec7');
CREATE TABLE bayescm_batches (
	classifier TEXT NOT NULL, 
	entry BIGINT NOT NULL, 
	batch_id TEXT NOT NULL, 
	at TEXT NOT NULL, 
	encoding TEXT NOT NULL, 
	encoding_version INTEGER NOT NULL, 
	payload TEXT NOT NULL, 
	supersedes TEXT, 
	recorded_at TEXT NOT NULL, 
	total TEXT, 
	batches BIGINT NOT NULL, 
	latest TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (classifier, entry), 
	UNIQUE (classifier, batch_id), 
	UNIQUE (classifier, supersedes), 
	FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier)
);
INSERT INTO "bayescm_batches" VALUES('spam filter',1,'day 0','2026-01-01T00:00:00.000000Z','counts',1,'[[45, 5], [5, 45]]',NULL,'2026-11-24T18:07:20.304617Z','[[45, 5], [5, 45]]',1,'2026-01-01T00:00:00.000000Z','6d0b7f8803718f18ade7c88c305aa21b');
INSERT INTO "bayescm_batches" VALUES('spam filter',2,'day 1','2026-01-02T00:00:00.000000Z','counts',1,'[[45, 5], [6, 44]]',NULL,'2026-11-24T18:07:20.366473Z','[[90, 10], [11, 89]]',2,'2026-01-02T00:00:00.000000Z','49cfde049fd5404d47c02e387fb1970f');
INSERT INTO "bayescm_batches" VALUES('spam filter',3,'day 2','2026-01-03T00:00:00.000000Z','counts',1,'[[45, 5], [4, 46]]',NULL,'2026-11-24T18:07:20.405668Z','[[135, 15], [15, 135]]',3,'2026-01-03T00:00:00.000000Z','48b66652fd4dc8243474ca835b03e506');
INSERT INTO "bayescm_batches" VALUES('spam filter',4,'day 3','2026-01-04T00:00:00.000000Z','counts',1,'[[45, 5], [30, 20]]',NULL,'2026-11-24T18:07:20.438026Z','[[180, 20], [45, 155]]',4,'2026-01-04T00:00:00.000000Z','e9a6c33adc9dd8278d698ef0a159cc83');
INSERT INTO "bayescm_batches" VALUES('spam filter',5,'day 1, relabelled','2026-01-02T00:00:00.000000Z','counts',1,'[[45, 5], [7, 43]]','day 1','2026-11-24T18:07:20.494437Z','[[180, 20], [46, 154]]',4,'2026-01-04T00:00:00.000000Z','30aeedfb4cd77f192ce406fe24542dd8');
INSERT INTO "bayescm_batches" VALUES('risk',1,'0','2026-01-01T00:00:00.000000Z','forecasts',1,'[[27, 27, 42, 26, 7, 1], [2, 8, 19, 15, 16, 10]]',NULL,'2026-11-24T18:07:21.687987Z','[[27, 27, 42, 26, 7, 1], [2, 8, 19, 15, 16, 10]]',1,'2026-01-01T00:00:00.000000Z','114c1f80f76c941c6a46a3a77156739e');
INSERT INTO "bayescm_batches" VALUES('risk',2,'1','2026-01-02T00:00:00.000000Z','forecasts',1,'[[36, 26, 36, 19, 8, 0], [1, 7, 16, 27, 15, 9]]',NULL,'2026-11-24T18:07:21.744985Z','[[63, 53, 78, 45, 15, 1], [3, 15, 35, 42, 31, 19]]',2,'2026-01-02T00:00:00.000000Z','87f7870c66eb1620403660476d65d907');
INSERT INTO "bayescm_batches" VALUES('risk',3,'2','2026-01-03T00:00:00.000000Z','forecasts',1,'[[2, 7, 22, 22, 22, 4], [28, 24, 37, 20, 11, 1]]',NULL,'2026-11-24T18:07:21.777640Z','[[65, 60, 100, 67, 37, 5], [31, 39, 72, 62, 42, 20]]',3,'2026-01-03T00:00:00.000000Z','40fb8d85db1988ae124c98845766811e');
INSERT INTO "bayescm_batches" VALUES('duel',1,'one','2026-01-01T00:00:00.000000Z','paired_outcomes',1,'[[27, 0, 19, 0], [0, 17, 0, 37]]',NULL,'2026-11-24T18:07:21.863738Z','[[27, 0, 19, 0], [0, 17, 0, 37]]',1,'2026-01-01T00:00:00.000000Z','cea718e3609a17a18e14af86ca7316f7');
CREATE TABLE bayescm_classifiers (
	classifier TEXT NOT NULL, 
	encoding TEXT NOT NULL, 
	encoding_version INTEGER NOT NULL, 
	description TEXT NOT NULL, 
	PRIMARY KEY (classifier)
);
INSERT INTO "bayescm_classifiers" VALUES('spam filter','counts',1,'{"labels": ["negative", "positive"], "positive": "positive"}');
INSERT INTO "bayescm_classifiers" VALUES('risk','forecasts',1,'{"labels": [0, 1], "positive": 1, "edges": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0], "chances": true}');
INSERT INTO "bayescm_classifiers" VALUES('duel','paired_outcomes',1,'{"labels": [0, 1], "positive": 1, "classifiers": ["old", "new"]}');
CREATE TABLE bayescm_deliveries (
	classifier TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	batch_id TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	measure TEXT NOT NULL, 
	incident TEXT, 
	hook TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	outcome TEXT NOT NULL, 
	next_try TEXT, 
	recorded_at TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (classifier, number), 
	UNIQUE (classifier, batch_id, rule, measure, hook, attempt, outcome), 
	FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier)
);
CREATE TABLE bayescm_ledger (
	revision TEXT NOT NULL, 
	seal TEXT, 
	PRIMARY KEY (revision)
);
INSERT INTO "bayescm_ledger" VALUES('1','4b61e137d164679d358bbff55d6c7d41');
CREATE TABLE bayescm_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT bayescm_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "bayescm_version" VALUES('1');
CREATE TRIGGER bayescm_ledger_no_update BEFORE UPDATE ON bayescm_ledger BEGIN SELECT RAISE(ABORT, 'bayescm_ledger is append-only'); END;
CREATE TRIGGER bayescm_ledger_no_delete BEFORE DELETE ON bayescm_ledger BEGIN SELECT RAISE(ABORT, 'bayescm_ledger is append-only'); END;
CREATE TRIGGER bayescm_ledger_no_replace BEFORE INSERT ON bayescm_ledger WHEN EXISTS (SELECT 1 FROM bayescm_ledger WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_ledger WHERE revision = NEW.revision) BEGIN SELECT RAISE(ABORT, 'bayescm_ledger is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_update BEFORE UPDATE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_delete BEFORE DELETE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_replace BEFORE INSERT ON bayescm_classifiers WHEN EXISTS (SELECT 1 FROM bayescm_classifiers WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_classifiers WHERE classifier = NEW.classifier) BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_batches_no_update BEFORE UPDATE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_batches_no_delete BEFORE DELETE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_batches_no_replace BEFORE INSERT ON bayescm_batches WHEN EXISTS (SELECT 1 FROM bayescm_batches WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND entry = NEW.entry) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND batch_id = NEW.batch_id) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND supersedes = NEW.supersedes) BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE INDEX bayescm_hashes ON bayescm_batches (classifier, entry, hash);
CREATE TRIGGER bayescm_acknowledgements_no_update BEFORE UPDATE ON bayescm_acknowledgements BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
CREATE TRIGGER bayescm_acknowledgements_no_delete BEFORE DELETE ON bayescm_acknowledgements BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
CREATE TRIGGER bayescm_acknowledgements_no_replace BEFORE INSERT ON bayescm_acknowledgements WHEN EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE classifier = NEW.classifier AND number = NEW.number) OR EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE classifier = NEW.classifier AND batch_id = NEW.batch_id AND rule = NEW.rule AND measure = NEW.measure) BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
CREATE TRIGGER bayescm_deliveries_no_update BEFORE UPDATE ON bayescm_deliveries BEGIN SELECT RAISE(ABORT, 'bayescm_deliveries is append-only'); END;
CREATE TRIGGER bayescm_deliveries_no_delete BEFORE DELETE ON bayescm_deliveries BEGIN SELECT RAISE(ABORT, 'bayescm_deliveries is append-only'); END;
CREATE TRIGGER bayescm_deliveries_no_replace BEFORE INSERT ON bayescm_deliveries WHEN EXISTS (SELECT 1 FROM bayescm_deliveries WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_deliveries WHERE classifier = NEW.classifier AND number = NEW.number) OR EXISTS (SELECT 1 FROM bayescm_deliveries WHERE classifier = NEW.classifier AND batch_id = NEW.batch_id AND rule = NEW.rule AND measure = NEW.measure AND hook = NEW.hook AND attempt = NEW.attempt AND outcome = NEW.outcome) BEGIN SELECT RAISE(ABORT, 'bayescm_deliveries is append-only'); END;
COMMIT;
